"""Holds all settings of Django's processes, driven by environment variables.

Development mode (the default) needs nothing set; production mode (`TREELINE_MODE=production`)
refuses to start with anything that is only safe on a developer's machine.
"""

from datetime import timedelta
from pathlib import Path

import dj_database_url
import pghistory
from django.core.exceptions import ImproperlyConfigured
from kombu import Queue

from exchange import queues
from exchange.environment import env_bool, env_int, env_list, env_path, env_place, env_text
from exchange.serving.configuration import DEFAULT_ADDRESS, INSECURE_SECRET

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = env_path("TREELINE_VAR", BASE_DIR / "var")
SNAPSHOT_DIR = env_path("TREELINE_SNAPSHOT_DIR", VAR_DIR / "snapshots")
# Where builds are copied for servers of other machines, as fsspec names it; empty: nowhere.
SNAPSHOT_STORE = env_text("TREELINE_SNAPSHOT_STORE")
VISIT_LOG_DIR = env_place("TREELINE_VISIT_LOG_DIR", VAR_DIR / "visits")
REPORT_DIR = env_place("TREELINE_REPORT_DIR", VAR_DIR / "reports")
# Where ad servers keep a sample of their answers, and what those were given with.
ANSWER_LOG_DIR = env_path("TREELINE_ANSWER_LOG_DIR", VAR_DIR / "answers")
# Figures of fewer users are told as "< 10" to whoever trades on the exchange; 0: all are told.
LEAST_USERS_TOLD = env_int("TREELINE_LEAST_USERS", 10)
# Builds read it, so it is on a disk of theirs wherever the reports are.
TRUTH_RATES_FILE = (REPORT_DIR if isinstance(REPORT_DIR, Path) else VAR_DIR) / "truth_rates.json"
# Where ad servers ask, as people are told it.
SERVING_URL = env_text(
    "TREELINE_SERVING_URL",
    f"http://{env_text('TREELINE_SERVING_ADDRESS') or DEFAULT_ADDRESS}",
)
# Explanations per second, for each API key and server process.
EXPLAIN_RATE = env_int("TREELINE_EXPLAIN_RATE", 10)

MODE = env_text("TREELINE_MODE", "development")
if MODE not in {"development", "production"}:
    raise ImproperlyConfigured(f"TREELINE_MODE must be development or production, not {MODE!r}")
IS_PRODUCTION = MODE == "production"

SECRET_KEY = env_text("TREELINE_SECRET_KEY", INSECURE_SECRET)
DEBUG = env_bool("TREELINE_DEBUG")
ALLOWED_HOSTS = env_list(
    "TREELINE_ALLOWED_HOSTS", "" if IS_PRODUCTION else "localhost,127.0.0.1,[::1]"
)
CSRF_TRUSTED_ORIGINS = env_list("TREELINE_TRUSTED_ORIGINS")
DEMO_LOGINS = env_bool("TREELINE_DEMO_LOGINS", default=not IS_PRODUCTION)
METRICS_TOKEN = env_text("TREELINE_METRICS_TOKEN")


def refuse_unsafe_production() -> None:
    """Names everything that is wrong at once, so that one restart is enough."""
    problems = []
    if SECRET_KEY == INSECURE_SECRET or len(SECRET_KEY) < 32:
        problems.append("set TREELINE_SECRET_KEY to a random text of at least 32 characters")
    if DEBUG:
        problems.append("unset TREELINE_DEBUG")
    if not ALLOWED_HOSTS or any("*" in host for host in ALLOWED_HOSTS):
        problems.append("set TREELINE_ALLOWED_HOSTS to the exact host names")
    if DEMO_LOGINS:
        problems.append("unset TREELINE_DEMO_LOGINS")
    if not env_text("DATABASE_URL"):
        problems.append("set DATABASE_URL")
    if not env_text("REDIS_URL"):
        problems.append("set REDIS_URL")
    if problems:
        raise ImproperlyConfigured("Refusing to start in production mode: " + "; ".join(problems))


if IS_PRODUCTION:
    refuse_unsafe_production()

INSTALLED_APPS = [
    "exchange.accounts.admin_config.OperatorsAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "pgtrigger",
    "pghistory",
    "axes",
    "django_htmx",
    "rest_framework",
    "exchange.accounts",
    "exchange.market",
    "exchange.keys",
    "exchange.snapshots",
    "exchange.reports",
    "exchange.findings",
    "exchange.demo",
    "exchange.web",
]

MIDDLEWARE = [
    "exchange.site.middleware.RequestIdMiddleware",
    "exchange.site.middleware.ResponseCountMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "exchange.site.middleware.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "exchange.web.login_required.LogInMiddleware",
    "exchange.web.wrong_method.WrongMethodMiddleware",
    "exchange.market.recording.RecordingMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    # Comes last: it turns the answer to a locked-out log-in into our page.
    "axes.middleware.AxesMiddleware",
]

# Revisions are found by what they are of and by nothing else: other indexes only slow down saves.
PGHISTORY_FOREIGN_KEY_FIELD = pghistory.ForeignKey(db_index=False)
PGHISTORY_OBJ_FIELD = pghistory.ObjForeignKey(db_index=True)

ROOT_URLCONF = "exchange.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    [
                        "django.template.loaders.filesystem.Loader",
                        "django.template.loaders.app_directories.Loader",
                    ],
                )
            ],
        },
    }
]

DATABASES = {
    "default": dj_database_url.parse(
        env_text("DATABASE_URL", "postgres://treeline@127.0.0.1:5432/treeline"),
        conn_max_age=60,
        conn_health_checks=True,
    )
}
# A server whose machine is gone is noticed in half a minute; what its own address says goes first.
DATABASES["default"]["OPTIONS"] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    # For workers and commands; pages have their own limits (site/waits.py).
    "options": "-c idle_in_transaction_session_timeout=10min",
    **DATABASES["default"].get("OPTIONS", {}),
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env_text("REDIS_URL", "redis://127.0.0.1:6379/0")
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
BROKER_TIMEOUT_SECONDS = 1.5
CELERY_BROKER_CONNECTION_TIMEOUT = BROKER_TIMEOUT_SECONDS
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Longer than the longest build or report, or Redis hands a running task to a second worker.
    "visibility_timeout": 12 * 3600,
    "socket_connect_timeout": BROKER_TIMEOUT_SECONDS,
    "socket_timeout": BROKER_TIMEOUT_SECONDS,
    "socket_keepalive": True,
    "max_retries": 0,
}
# A message is a hint (announcing.py): whoever saves does not wait for a second attempt.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TIMEZONE = "UTC"
CELERY_TASK_QUEUES = [Queue(each.name, routing_key=each.name) for each in queues.QUEUES]
CELERY_TASK_DEFAULT_QUEUE = "sweeps"
CELERY_TASK_ROUTES = queues.routes()
CELERY_TASK_ANNOTATIONS = {
    "*": {"Request": "exchange.acknowledging:Request"},
    **queues.limits(),
}
NIGHTLY_REPORT_HOUR_UTC = env_int("TREELINE_NIGHTLY_REPORT_HOUR", 2)
# Builds at the end of a day, which is then counted with what was built.
NIGHTLY_BUILD_HOUR_UTC = env_int("TREELINE_NIGHTLY_BUILD_HOUR", 0)
SPARK_MASTER = env_text("TREELINE_SPARK_MASTER", "local[2]")

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    # Comes first: it refuses before anybody compares a password.
    "axes.backends.AxesStandaloneBackend",
    "exchange.accounts.backends.DemoAwareBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AXES_HANDLER = "axes.handlers.database.AxesDatabaseHandler"
AXES_FAILURE_LIMIT = env_int("TREELINE_LOGIN_ATTEMPTS", 5)
AXES_COOLOFF_TIME = timedelta(minutes=env_int("TREELINE_LOCK_OUT_MINUTES", 15))
# Locks by name and address together: nobody can lock a person out from elsewhere.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
# Slows an address, whatever the names (`accounts.addresses`). Of several hundred people behind one
# address some mistype in five minutes, not thirty; a program gets 30 guesses where it had no limit,
# and whoever shares its address waits five minutes at most.
ADDRESS_ATTEMPTS = env_int("TREELINE_ADDRESS_ATTEMPTS", 30)
ADDRESS_MINUTES = env_int("TREELINE_ADDRESS_MINUTES", 5)
# A lock that grew with each attempt would make the page's waiting time wrong.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_CLIENT_IP_CALLABLE = "exchange.accounts.throttling.client_address"
AXES_LOCKOUT_CALLABLE = "exchange.accounts.throttling.show_lock_out"
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
AXES_SENSITIVE_PARAMETERS = ["csrfmiddlewaretoken"]

# Without a host no mail is sent, and nobody is offered any.
EMAIL_HOST = env_text("TREELINE_EMAIL_HOST")
EMAIL_PORT = env_int("TREELINE_EMAIL_PORT", 587)
EMAIL_HOST_USER = env_text("TREELINE_EMAIL_USER")
EMAIL_HOST_PASSWORD = env_text("TREELINE_EMAIL_PASSWORD")
EMAIL_USE_TLS = env_bool("TREELINE_EMAIL_TLS", default=True)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env_text("TREELINE_EMAIL_FROM", "treeline@localhost")

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "dashboard"
LOGOUT_REDIRECT_URL = "login"

FILE_UPLOAD_HANDLERS = [
    "exchange.site.uploads.OnlyOfPeople",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
# Development serves static files from where they are written; production collects them.
STATIC_ROOT = (
    env_path("TREELINE_STATIC_ROOT", BASE_DIR / "static_collected") if IS_PRODUCTION else None
)
WHITENOISE_USE_FINDERS = not IS_PRODUCTION
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if IS_PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

SESSION_COOKIE_SECURE = IS_PRODUCTION
SESSION_COOKIE_HTTPONLY = True
CSRF_COOKIE_SECURE = IS_PRODUCTION
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if IS_PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = IS_PRODUCTION
SECURE_HSTS_PRELOAD = IS_PRODUCTION
SECURE_SSL_REDIRECT = env_bool("TREELINE_SSL_REDIRECT", default=IS_PRODUCTION)
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
BEHIND_PROXY = env_bool("TREELINE_BEHIND_PROXY")
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "EXCEPTION_HANDLER": "exchange.api.problems.problem_response",
}

LOG_LEVEL = env_text("TREELINE_LOG_LEVEL", "INFO")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "exchange.logs.JsonLogFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "django.server": {"handlers": ["stderr"], "propagate": False},
        "axes": {"level": "WARNING"},
    },
}

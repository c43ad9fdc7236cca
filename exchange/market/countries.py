"""Finds the three letters that the catalogue uses for a country, as people may write it."""

from __future__ import annotations

from targeting.openrtb.countries import ALPHA_3

NAMES = """
AFG Afghanistan; ALB Albania; DZA Algeria; AND Andorra; AGO Angola; ARG Argentina; ARM Armenia;
AUS Australia; AUT Austria; AZE Azerbaijan; BHS Bahamas; BHR Bahrain; BGD Bangladesh; BRB Barbados;
BLR Belarus; BEL Belgium; BLZ Belize; BEN Benin; BTN Bhutan; BOL Bolivia; BIH Bosnia;
BIH Bosnia and Herzegovina; BWA Botswana; BRA Brazil; BRN Brunei; BGR Bulgaria; BFA Burkina Faso;
BDI Burundi; KHM Cambodia; CMR Cameroon; CAN Canada; CPV Cape Verde; CAF Central African Republic;
TCD Chad; CHL Chile; CHN China; COL Colombia; COM Comoros; COG Congo; COD DR Congo; CRI Costa Rica;
CIV Ivory Coast; HRV Croatia; CUB Cuba; CYP Cyprus; CZE Czechia; CZE Czech Republic; DNK Denmark;
DJI Djibouti; DOM Dominican Republic; ECU Ecuador; EGY Egypt; SLV El Salvador; ERI Eritrea;
EST Estonia; SWZ Eswatini; ETH Ethiopia; FJI Fiji; FIN Finland; FRA France; GAB Gabon; GMB Gambia;
GEO Georgia; DEU Germany; DEU Deutschland; GHA Ghana; GRC Greece; GRL Greenland; GTM Guatemala;
GIN Guinea; GUY Guyana; HTI Haiti; HND Honduras; HKG Hong Kong; HUN Hungary; ISL Iceland; IND India;
IDN Indonesia; IRN Iran; IRQ Iraq; IRL Ireland; ISR Israel; ITA Italy; JAM Jamaica; JPN Japan;
JOR Jordan; KAZ Kazakhstan; KEN Kenya; KWT Kuwait; KGZ Kyrgyzstan; LAO Laos; LVA Latvia;
LBN Lebanon; LSO Lesotho; LBR Liberia; LBY Libya; LIE Liechtenstein; LTU Lithuania; LUX Luxembourg;
MAC Macao; MDG Madagascar; MWI Malawi; MYS Malaysia; MDV Maldives; MLI Mali; MLT Malta;
MRT Mauritania; MUS Mauritius; MEX Mexico; MDA Moldova; MCO Monaco; MNG Mongolia; MNE Montenegro;
MAR Morocco; MOZ Mozambique; MMR Myanmar; NAM Namibia; NPL Nepal; NLD Netherlands; NLD Holland;
NLD The Netherlands; NZL New Zealand; NIC Nicaragua; NER Niger; NGA Nigeria; PRK North Korea;
MKD North Macedonia; NOR Norway; OMN Oman; PAK Pakistan; PSE Palestine; PAN Panama;
PNG Papua New Guinea; PRY Paraguay; PER Peru; PHL Philippines; POL Poland; PRT Portugal;
PRI Puerto Rico; QAT Qatar; ROU Romania; RUS Russia; RWA Rwanda; SAU Saudi Arabia; SEN Senegal;
SRB Serbia; SYC Seychelles; SLE Sierra Leone; SGP Singapore; SVK Slovakia; SVN Slovenia;
SOM Somalia; ZAF South Africa; KOR South Korea; KOR Korea; SSD South Sudan; ESP Spain;
LKA Sri Lanka; SDN Sudan; SUR Suriname; SWE Sweden; CHE Switzerland; SYR Syria; TWN Taiwan;
TJK Tajikistan; TZA Tanzania; THA Thailand; TGO Togo; TTO Trinidad and Tobago; TUN Tunisia;
TUR Turkey; TUR Türkiye; TKM Turkmenistan; UGA Uganda; UKR Ukraine; ARE United Arab Emirates;
ARE UAE; GBR United Kingdom; GBR UK; GBR Great Britain; GBR Britain; GBR England;
USA United States; USA United States of America; USA America; URY Uruguay; UZB Uzbekistan;
VEN Venezuela; VNM Vietnam; YEM Yemen; ZMB Zambia; ZWE Zimbabwe
"""

KNOWN = frozenset(ALPHA_3.values())
BY_NAME = {
    name.casefold(): code
    for code, _, name in (entry.strip().partition(" ") for entry in NAMES.split(";"))
}


def find_country(text: str) -> str | None:
    """Finds the three letters that are meant; None if they are written already, or nobody knows."""
    if text in KNOWN:
        return None
    bare = text.strip()
    if bare.upper() in KNOWN:
        return bare.upper()
    return ALPHA_3.get(bare.upper()) or BY_NAME.get(bare.casefold())

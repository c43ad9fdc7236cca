"""Lists large cities and where they are, so that a circle can be drawn around a name."""

from __future__ import annotations

from functools import cache

CITIES = """
New York 40.71 -74.01; Los Angeles 34.05 -118.24; Chicago 41.88 -87.63; Houston 29.76 -95.37;
Phoenix 33.45 -112.07; Philadelphia 39.95 -75.17; San Antonio 29.42 -98.49;
San Diego 32.72 -117.16; Dallas 32.78 -96.8; Austin 30.27 -97.74; San Francisco 37.77 -122.42;
Seattle 47.61 -122.33; Denver 39.74 -104.99; Washington 38.91 -77.04; Boston 42.36 -71.06;
Detroit 42.33 -83.05; Atlanta 33.75 -84.39; Miami 25.76 -80.19; Minneapolis 44.98 -93.27;
Portland 45.52 -122.68; Las Vegas 36.17 -115.14; Toronto 43.65 -79.38; Montreal 45.5 -73.57;
Vancouver 49.28 -123.12; Calgary 51.05 -114.07; Ottawa 45.42 -75.7; Mexico City 19.43 -99.13;
Guadalajara 20.66 -103.35; Monterrey 25.69 -100.32; Bogota 4.71 -74.07; Lima -12.05 -77.04;
Santiago -33.45 -70.67; Buenos Aires -34.6 -58.38; Sao Paulo -23.55 -46.63;
Rio de Janeiro -22.91 -43.17; Brasilia -15.79 -47.88; Recife -8.05 -34.88; Salvador -12.97 -38.5;
Caracas 10.48 -66.9; London 51.51 -0.13; Manchester 53.48 -2.24; Birmingham 52.49 -1.89;
Leeds 53.8 -1.55; Liverpool 53.41 -2.99; Bristol 51.45 -2.59; Glasgow 55.86 -4.25;
Edinburgh 55.95 -3.19; Cardiff 51.48 -3.18; Belfast 54.6 -5.93; Dublin 53.35 -6.26;
Cork 51.9 -8.48; Berlin 52.52 13.405; Hamburg 53.55 9.99; Munich 48.14 11.58; Cologne 50.94 6.96;
Frankfurt am Main 50.11 8.68; Stuttgart 48.78 9.18; Dusseldorf 51.23 6.78; Leipzig 51.34 12.37;
Dresden 51.05 13.74; Hanover 52.38 9.73; Nuremberg 49.45 11.08; Bremen 53.08 8.8;
Dortmund 51.51 7.47; Essen 51.46 7.01; Vienna 48.21 16.37; Graz 47.07 15.44; Linz 48.31 14.29;
Salzburg 47.81 13.06; Zurich 47.38 8.54; Geneva 46.2 6.14; Basel 47.56 7.59; Bern 46.95 7.45;
Lausanne 46.52 6.63; Paris 48.86 2.35; Lyon 45.76 4.84; Marseille 43.3 5.37; Toulouse 43.6 1.44;
Nice 43.7 7.27; Nantes 47.22 -1.55; Bordeaux 44.84 -0.58; Lille 50.63 3.06; Strasbourg 48.57 7.75;
Brussels 50.85 4.35; Antwerp 51.22 4.4; Ghent 51.05 3.72; Amsterdam 52.37 4.9;
Rotterdam 51.92 4.48; The Hague 52.08 4.31; Utrecht 52.09 5.12; Luxembourg 49.61 6.13;
Madrid 40.42 -3.7; Barcelona 41.39 2.17; Valencia 39.47 -0.38; Seville 37.39 -5.98;
Bilbao 43.26 -2.93; Lisbon 38.72 -9.14; Porto 41.16 -8.63; Rome 41.9 12.5; Milan 45.46 9.19;
Naples 40.85 14.27; Turin 45.07 7.69; Florence 43.77 11.26; Bologna 44.49 11.34;
Venice 45.44 12.32; Warsaw 52.23 21.01; Krakow 50.06 19.95; Wroclaw 51.11 17.04;
Gdansk 54.35 18.65; Lodz 51.76 19.46; Prague 50.08 14.44; Brno 49.2 16.61; Bratislava 48.15 17.11;
Budapest 47.5 19.04; Ljubljana 46.06 14.51; Zagreb 45.81 15.98; Belgrade 44.79 20.45;
Sarajevo 43.86 18.41; Sofia 42.7 23.32; Bucharest 44.43 26.1; Athens 37.98 23.73;
Thessaloniki 40.64 22.94; Stockholm 59.33 18.07; Gothenburg 57.71 11.97; Malmo 55.6 13.0;
Oslo 59.91 10.75; Bergen 60.39 5.32; Copenhagen 55.68 12.57; Aarhus 56.16 10.2;
Helsinki 60.17 24.94; Tampere 61.5 23.76; Reykjavik 64.15 -21.94; Tallinn 59.44 24.75;
Riga 56.95 24.11; Vilnius 54.69 25.28; Kyiv 50.45 30.52; Istanbul 41.01 28.98; Ankara 39.93 32.86;
Izmir 38.42 27.14; Tel Aviv 32.09 34.78; Cairo 30.04 31.24; Casablanca 33.57 -7.59;
Tunis 36.81 10.18; Algiers 36.75 3.06; Lagos 6.52 3.38; Accra 5.6 -0.19; Nairobi -1.29 36.82;
Addis Ababa 9.03 38.74; Johannesburg -26.2 28.05; Cape Town -33.92 18.42; Durban -29.86 31.02;
Dubai 25.2 55.27; Abu Dhabi 24.45 54.38; Riyadh 24.71 46.68; Doha 25.29 51.53;
Karachi 24.86 67.01; Lahore 31.55 74.34; Mumbai 19.08 72.88; Delhi 28.7 77.1;
Bengaluru 12.97 77.59; Chennai 13.08 80.27; Kolkata 22.57 88.36; Hyderabad 17.39 78.49;
Dhaka 23.81 90.41; Colombo 6.93 79.86; Bangkok 13.76 100.5; Hanoi 21.03 105.85;
Ho Chi Minh City 10.82 106.63; Kuala Lumpur 3.14 101.69; Singapore 1.35 103.82;
Jakarta -6.21 106.85; Manila 14.6 120.98; Hong Kong 22.32 114.17; Taipei 25.03 121.57;
Shanghai 31.23 121.47; Beijing 39.9 116.41; Shenzhen 22.54 114.06; Guangzhou 23.13 113.26;
Tokyo 35.68 139.65; Osaka 34.69 135.5; Nagoya 35.18 136.91; Fukuoka 33.59 130.4;
Sapporo 43.06 141.35; Seoul 37.57 126.98; Busan 35.18 129.08; Sydney -33.87 151.21;
Melbourne -37.81 144.96; Brisbane -27.47 153.03; Perth -31.95 115.86; Adelaide -34.93 138.6;
Auckland -36.85 174.76; Wellington -41.29 174.78
"""


@cache
def read_places() -> dict[str, tuple[float, float]]:
    """Reads latitude and longitude of each city's middle, by its English name."""
    rows = (entry.strip().rsplit(" ", 2) for entry in CITIES.split(";"))
    return {name: (float(latitude), float(longitude)) for name, latitude, longitude in rows}

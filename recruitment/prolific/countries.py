"""Where Prolific's participants live, by ISO 3166 code, as its filter for the country names them."""

from __future__ import annotations

from collections.abc import Mapping

COUNTRY_NAMES: Mapping[str, str] = {
    "AT": "Austria",
    "AU": "Australia",
    "BE": "Belgium",
    "CA": "Canada",
    "CH": "Switzerland",
    "CL": "Chile",
    "CZ": "Czech Republic",
    "DE": "Germany",
    "DK": "Denmark",
    "EE": "Estonia",
    "ES": "Spain",
    "FI": "Finland",
    "FR": "France",
    "GB": "United Kingdom",
    "GR": "Greece",
    "HU": "Hungary",
    "IE": "Ireland",
    "IL": "Israel",
    "IS": "Iceland",
    "IT": "Italy",
    "JP": "Japan",
    "KR": "Korea",
    "LU": "Luxembourg",
    "LV": "Latvia",
    "MX": "Mexico",
    "NL": "Netherlands",
    "NO": "Norway",
    "NZ": "New Zealand",
    "PL": "Poland",
    "PT": "Portugal",
    "SE": "Sweden",
    "SI": "Slovenia",
    "SK": "Slovakia",
    "TR": "Turkey",
    "US": "United States",
    "ZA": "South Africa",
}

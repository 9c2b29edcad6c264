"""Rules of arrivals: ``admission`` decides on who may begin, ``ending`` on a visit's end."""

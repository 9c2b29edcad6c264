"""Charts as plain values: title, sentence, table and Vega-Lite specification. Pure, except ``catalogue``."""

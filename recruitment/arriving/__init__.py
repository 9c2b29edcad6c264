"""How people come from a platform and go back to it: pure rules of plain values.

``mturk`` reads what Mechanical Turk adds to an address (``recruitment.prolific.arrivals`` what Prolific
does), ``admission`` says who may begin, ``ending`` what a visit has come to.
"""

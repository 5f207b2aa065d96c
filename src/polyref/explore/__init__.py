"""A local web page to look at lattices, and the JSON behind it.

A module imports only from those before it in this order:

    asking     what can be asked, with which settings; the command that gives the same
    analysis   the answers, for one example at a time
    crew       processes that find the answers
    library    the examples of a file, to choose from
    server     the web: routes, and who may ask
    static/    the page
"""

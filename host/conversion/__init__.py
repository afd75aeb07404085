"""The steps of ``arenite convert``; ``host.convert`` joins them."""

"""Certificates of a fleet: the authority, what a broker needs, and the enrolment of devices."""

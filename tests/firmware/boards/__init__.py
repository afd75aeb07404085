"""Tests of start-up code, ports to operating systems and SDKs, the health report and the second core."""

"""Update images: keys, signatures, and the reasons for which a device refuses an image."""

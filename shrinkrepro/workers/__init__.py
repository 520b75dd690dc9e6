"""The host side of the target: start, feed, time out, kill and restart what runs programs."""

"""The pages of a running study (Django): thin shells around the rules; begin with `urls` and `staff_requests`."""

"""What may happen to a coupon, a person, a payment and a plan: pure, without Django; begin with `deciding`."""

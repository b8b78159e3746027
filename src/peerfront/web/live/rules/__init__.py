"""The rules for coupons, people, payments and plans: pure functions, without Django; start reading at `deciding`."""

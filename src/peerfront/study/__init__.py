"""From a study's own file to this week's coupon sheet: fit, plan, forecast, report."""

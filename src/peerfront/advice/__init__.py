"""From a study's own file to this week's coupon sheet: fit, plan, forecast, report."""

from peerfront.advice.fitting import FitSettings, FittedStudy, fit_study, study_schema_of
from peerfront.advice.sheet import CouponSheet, PlanOrder, plan_coupons

__all__ = [
    "CouponSheet",
    "FitSettings",
    "FittedStudy",
    "PlanOrder",
    "fit_study",
    "plan_coupons",
    "study_schema_of",
]

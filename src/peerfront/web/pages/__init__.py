"""What pages in a browser share: their frame and looks, coupon pictures, the server. For `app` and `live`."""

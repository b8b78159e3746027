"""The live study as a WSGI application, for `peerfront live serve` and any other production server."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "peerfront.web.live.django_settings")
application = get_wsgi_application()

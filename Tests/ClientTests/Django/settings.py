import os
from urllib.parse import unquote, urlsplit

url = urlsplit(os.environ["DATABASE_URL"])

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": url.hostname,
        "PORT": url.port,
        "USER": unquote(url.username),
        "PASSWORD": unquote(url.password),
        "NAME": unquote(url.path[1:]),
    }
}
INSTALLED_APPS = ["board"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
SECRET_KEY = "only for tests"

# One image for web, worker, beat and migrate; docker-compose.yml has their commands.
FROM python:3.11-slim-bookworm

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1
WORKDIR /app

COPY requirements/base.txt requirements/base.txt
RUN pip install --disable-pip-version-check --require-hashes -r requirements/base.txt

COPY . .
# The static files are part of the image. The settings require a key, which is not used here.
RUN SECRET_KEY=unused-while-building STATIC_ROOT=/app/static-files python manage.py collectstatic --noinput \
    && useradd --system --uid 10001 --home-dir /app tomannot \
    && install -d -o tomannot /data
ENV STATIC_ROOT=/app/static-files TOMANNOT_VAR=/data MEDIA_ROOT=/data/media RELEASES_ROOT=/data/releases

USER tomannot
EXPOSE 8000
CMD ["granian", "--interface", "wsgi", "--host", "0.0.0.0", "--port", "8000", "--workers", "2", "--blocking-threads", "4", "--no-ws", "--respawn-failed-workers", "tomannot.wsgi:application"]

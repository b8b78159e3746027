"""What managers and analysts do: settings, sites, users, audit, export, back-ups; and everybody's password."""

from django.urls import URLPattern, path

from peerfront.web.live.screens import (
    audit,
    backup_pages,
    export_page,
    import_page,
    languages,
    passwords,
    settings_page,
    sites,
    users,
)

pages: list[URLPattern] = [
    path("first-login/<str:number>/<str:token>/", passwords.first_login, name="first_login"),
    path("password/", passwords.password, name="password"),
    path("language/", languages.set_language, name="set_language"),
    path("settings/", settings_page.settings_page, name="settings"),
    path("sites/", sites.sites, name="sites"),
    path("users/", users.users, name="users"),
    path("users/add/", users.add_user, name="add_user"),
    path("users/<int:number>/", users.user, name="user"),
    path("audit/", audit.audit, name="audit"),
    path("audit/verify/", audit.verify_page, name="verify"),
    path("export/", export_page.export, name="export"),
    path("export/file/", export_page.export_file, name="export_file"),
    path("import/", import_page.import_page, name="import_study"),
    path("back-ups/", backup_pages.backups, name="backups"),
    path("back-ups/<str:name>/", backup_pages.backup_file, name="backup_file"),
]

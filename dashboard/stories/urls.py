"""Stories, their imports, and votes as files."""

from django.urls import path

from dashboard.stories import pages

urlpatterns = [
    path("import/", pages.import_stories, name="import_stories"),
    path("import/<int:number>/", pages.import_report, name="import_report"),
    path("import/<int:number>/problems.csv", pages.import_problems, name="import_problems"),
    path("", pages.stories, name="stories"),
    path("stories.csv", pages.stories_file, name="stories_file"),
    path("votes.<str:kind>", pages.votes_file, name="votes_file"),
    path("decide/", pages.decide_stories, name="decide_stories"),
    path("<path:story_id>/", pages.story, name="story"),
]

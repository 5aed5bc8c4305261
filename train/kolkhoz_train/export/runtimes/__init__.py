"""What a bundle holds as it stands here: it runs outside this project and imports nothing of it."""

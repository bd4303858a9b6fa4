"""Looking at screenshots: marks that name what is on the screen, one screen transform, text and picture matching.

Environments deal in pixels only. This package puts numbers on what can be clicked, draws and lists them, and turns
an agent's answer back into the device's coordinates; and it answers questions about pictures for evaluators.
"""

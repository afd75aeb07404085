"""The code that becomes C: kernels, board support, the generator, projects and libraries.

``arenite.firmware(model, board, output)`` is also the function that generates a project.
"""

"""The code that becomes C: kernels, board support, the generator, projects and libraries.

The package is also a function: ``arenite.firmware(model, board, output)`` generates a project.
"""

"""Graphs of steps or agents, and the same as a list (W-62, W-63, W-67).

- ``nodes``: What a graph shows: nodes with their states, edges, ways back; free of Qt.
- ``layout``: Places nodes in layers, and leads edges between them; free of Qt.
- ``nesting``: Lays out a graph with others inside of its nodes; free of Qt.
- ``painting``: Paints nodes and edges from the theme.
- ``view``: The canvas: moves, zooms and chooses by mouse and keys.
- ``node_list``: The list twin, with every node, its state and what it needs.
- ``pane``: Both in one place with one choice; speaks changes of states.
"""

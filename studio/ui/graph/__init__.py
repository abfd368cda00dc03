"""Graphs of steps or agents, and the same as a list (W-62, W-63, W-67).

- ``nodes``: What a graph shows: nodes with their states, edges, ways back; free of Qt.
- ``layout``: Computes the places of nodes in layers, and the lines of edges; free of Qt.
- ``nesting``: Lays out a graph with others inside of its nodes; free of Qt.
- ``painting``: Paints nodes and edges from the theme.
- ``node_walk``: Tells which node an arrow key goes to; free of Qt.
- ``view``: The widget that shows a graph: zoom, panning, choosing by mouse and keys.
- ``node_list``: The same nodes as a list, each with its state and what it needs.
- ``pane``: Graph or list in one place, with one choice; speaks changes of states.
"""

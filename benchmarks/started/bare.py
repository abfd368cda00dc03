"""The baseline: an empty QMainWindow, shown and painted. Prints its figures as JSON."""

import json
import sys
import time

from PySide6.QtCore import QTimer
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QMainWindow


class Window(QMainWindow):
    seen = False

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self.seen:
            self.seen = True
            QTimer.singleShot(0, report)


def report() -> None:
    cpu, now = time.process_time(), time.time()
    from memory import memory

    print(json.dumps({"cpu": cpu, "at": now, **memory()}))
    window.close()


app = QApplication(sys.argv[:1])
window = Window()
window.resize(1440, 900)
window.show()
app.exec()

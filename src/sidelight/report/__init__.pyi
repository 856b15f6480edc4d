from ._report import render_report as render_report
from ._report import write_report as write_report

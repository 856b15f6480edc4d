from ._flow import CategoryFlowDisplay as CategoryFlowDisplay

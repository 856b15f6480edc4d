from ._feedback import FeedbackClustering as FeedbackClustering

from ._cdk_means import CDKMeans as CDKMeans

from ._balanced import BalancedKMeans as BalancedKMeans
from ._frequency_sensitive import FrequencySensitiveKMeans as FrequencySensitiveKMeans
from ._sample_size import sample_size as sample_size
from ._soft_balanced import SoftBalancedKMeans as SoftBalancedKMeans

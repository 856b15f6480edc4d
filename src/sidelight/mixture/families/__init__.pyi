from ._bernoulli import BernoulliMixture as BernoulliMixture
from ._categorical import CategoricalMixture as CategoricalMixture
from ._multinomial import MultinomialMixture as MultinomialMixture
from ._von_mises_fisher import VonMisesFisherMixture as VonMisesFisherMixture

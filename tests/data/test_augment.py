"""Crops, flips and normalisation of whole batches, against numpy and plain loops."""

import numpy as np
import torch

from tailormix.data.augment import ImageTransform, crop, normalisation

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)


def images(n: int = 6) -> torch.Tensor:
    return torch.randint(256, (n, 3, 5, 7), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))


def test_crop_is_numpy_padding_and_slicing() -> None:
    x, top, left = images(), torch.tensor([0, 1, 2, 3, 4, 2]), torch.tensor([4, 3, 2, 1, 0, 2])
    padded = np.pad(x.numpy(), ((0, 0), (0, 0), (2, 2), (2, 2)))
    expected = np.stack(
        [padded[k, :, t : t + 5, u : u + 7] for k, (t, u) in enumerate(zip(top, left, strict=True))]
    )
    assert (crop(x, top, left, 2).numpy() == expected).all()


def test_normalisation_is_the_formula() -> None:
    x = images()
    mean, std = (torch.tensor(values).double()[:, None, None] for values in (MEAN, STD))
    expected = (x.double() / 255 - mean) / std
    torch.testing.assert_close(ImageTransform(*normalisation(MEAN, STD))(x), expected.float())


def test_every_augmented_image_is_a_shifted_or_mirrored_one(generator: torch.Generator) -> None:
    constants = normalisation(MEAN, STD)
    x = ImageTransform(*constants, pad=1, flip=True)(images(1).expand(200, -1, -1, -1), generator)
    shifts = torch.cartesian_prod(torch.arange(3), torch.arange(3))
    shifted = crop(images(1).expand(9, -1, -1, -1), shifts[:, 0], shifts[:, 1], 1)
    allowed = ImageTransform(*constants)(torch.cat([shifted, shifted.flip(3)])).flatten(1)
    equal = (x.flatten(1)[:, None] == allowed).all(2)
    assert equal.any(1).all()
    assert equal.any(0).all()  # all 18 variants come up in 200 draws


def test_equal_generators_give_equal_bits_and_no_value_is_read() -> None:
    """The global generator stays as it is; on the meta device reading a value would raise."""
    augment, x = ImageTransform(*normalisation(MEAN, STD), pad=2, flip=True), images()
    before = torch.get_rng_state()
    first, again, other = (augment(x, torch.Generator().manual_seed(s)) for s in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), before)
    assert augment.to("meta")(x.to("meta")).shape == (6, 3, 5, 7)

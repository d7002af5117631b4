"""What is published where: addresses, checksums and files of every data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailormix.data.shifted import CIFAR_C_MD5


@dataclass(frozen=True)
class Download:
    """One address, with the file's size and checksum (``sha256:...`` or ``md5:...``).

    ``into`` is the folder under the data root. With ``unpack`` the archive is unpacked there and removed;
    otherwise the file itself is kept there under ``name``.
    """

    url: str
    name: str
    bytes: int | None
    checksum: str
    into: str = ""
    unpack: Literal["tar", "zip"] | None = None


@dataclass(frozen=True)
class Stored:
    """One file under the data root that must be there, with the versions that are accepted.

    A version is (bytes, checksum), either of them None where nobody publishes it. With ``inside_gzip`` the
    version describes the unpacked contents, since equal contents may be compressed in different ways.
    """

    path: str
    versions: tuple[tuple[int | None, str | None], ...]
    inside_gzip: bool = False


@dataclass(frozen=True)
class Published:
    """All that is known of one data set's files: ``folder`` under the root, and what must lie there.

    ``counts`` are (pattern, number of files) for sets of many files. Where the owners ask for registration,
    ``by_hand`` says what the user must do and ``archives`` are the files that must then be there.
    """

    folder: str
    downloads: tuple[Download, ...] = ()
    files: tuple[Stored, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    by_hand: str = ""
    archives: tuple[Stored, ...] = ()


_CIFAR = "https://www.cs.toronto.edu/~kriz"
_SERIES = "https://raw.githubusercontent.com/laiguokun/multivariate-time-series-data/master"
_HENDRYCKS = "https://people.eecs.berkeley.edu/~hendrycks"
_FASHION = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"
_AIRFOIL = "https://archive.ics.uci.edu/ml/machine-learning-databases/00291/airfoil_self_noise.dat"


def _sha(value: str) -> str:
    return f"sha256:{value}"


def _cifar_c(number: int, record: int, size: int, checksum: str) -> Published:
    folder = f"CIFAR-{number}-C"
    column = 0 if number == 10 else 1
    return Published(
        folder,
        (
            Download(
                f"https://zenodo.org/record/{record}/files/{folder}.tar",
                f"{folder}.tar",
                size,
                _sha(checksum),
                unpack="tar",
            ),
        ),
        tuple(
            Stored(f"{folder}/{file}.npy", ((None, f"md5:{sums[column]}"),))
            for file, sums in CIFAR_C_MD5.items()
        ),
    )


def _hendrycks(folder: str, size: int, checksum: str, images: int) -> Published:
    return Published(
        folder,
        (Download(f"{_HENDRYCKS}/{folder}.tar", f"{folder}.tar", size, _sha(checksum), unpack="tar"),),
        counts=(("n*/*.*", images),),
    )


def _fashion(name: str, packed: int, checksum: str, size: int, inside: str) -> tuple[Download, Stored]:
    return (
        Download(f"{_FASHION}/{name}", name, packed, _sha(checksum), into="fashion-mnist"),
        Stored(f"fashion-mnist/{name}", ((size, _sha(inside)),), inside_gzip=True),
    )


_FASHION_FILES = (
    _fashion(
        "train-images-idx3-ubyte.gz",
        26_421_880,
        "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        47_040_016,
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    ),
    _fashion(
        "train-labels-idx1-ubyte.gz",
        29_515,
        "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        60_008,
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    ),
    _fashion(
        "t10k-images-idx3-ubyte.gz",
        4_422_102,
        "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        7_840_016,
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    ),
    _fashion(
        "t10k-labels-idx1-ubyte.gz",
        5_148,
        "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        10_008,
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
)

#: sha256 of the unpacked CIFAR-10 batches
_CIFAR10_BATCHES: dict[str, str] = {
    "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
}

PUBLISHED: dict[str, Published] = {
    "cifar10": Published(
        "cifar-10-batches-bin",
        (
            Download(
                f"{_CIFAR}/cifar-10-binary.tar.gz",
                "cifar-10-binary.tar.gz",
                170_052_171,
                _sha("c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"),
                unpack="tar",
            ),
        ),
        tuple(
            Stored(f"cifar-10-batches-bin/{file}", ((30_730_000, _sha(checksum)),))
            for file, checksum in _CIFAR10_BATCHES.items()
        ),
    ),
    "cifar100": Published(
        "cifar-100-binary",
        (
            Download(
                f"{_CIFAR}/cifar-100-binary.tar.gz",
                "cifar-100-binary.tar.gz",
                168_513_733,
                _sha("58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"),
                unpack="tar",
            ),
        ),
        (
            Stored("cifar-100-binary/train.bin", ((153_700_000, None),)),
            Stored("cifar-100-binary/test.bin", ((30_740_000, None),)),
        ),
    ),
    "tiny-imagenet": Published(
        "tiny-imagenet-200",
        (
            Download(
                "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
                "tiny-imagenet-200.zip",
                248_100_043,
                _sha("6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821"),
                unpack="zip",
            ),
        ),
        counts=(("train/*/images/*.JPEG", 100_000), ("val/images/*.JPEG", 10_000)),
    ),
    "imagenet": Published(
        "imagenet",
        counts=(("train/*/*.JPEG", 1_281_167), ("val/*/*.JPEG", 50_000)),
        by_hand="register at image-net.org and put ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar and "
        "ILSVRC2012_devkit_t12.tar.gz into the folder",
        archives=(
            Stored(
                "imagenet/ILSVRC2012_img_train.tar",
                ((147_897_477_120, "md5:1d675b47d978889d74fa0da5fadfb00e"),),
            ),
            Stored(
                "imagenet/ILSVRC2012_img_val.tar", ((6_744_924_160, "md5:29b22e2961454d5413ddabcf34fc5622"),)
            ),
            Stored(
                "imagenet/ILSVRC2012_devkit_t12.tar.gz", ((None, "md5:fa75699e90414af021442c21a62c3abf"),)
            ),
        ),
    ),
    "cifar10-c": _cifar_c(
        10, 2535967, 2_918_471_680, "c72763e101c723b7c507b96205f7e938912a5d587376173b825850cf3cb876a7"
    ),
    "cifar100-c": _cifar_c(
        100, 3555552, 2_918_473_216, "30ee6543a1bfd049fa33834b7c1ada301e7064b7fbe8fc38340eb8b62ced4b33"
    ),
    "imagenet-r": _hendrycks(
        "imagenet-r",
        2_191_079_936,
        "18c6bf493b39a0d975d48e587437f562caab9c52ae6327dcfa9dd8eb54aa1b52",
        30_000,
    ),
    "imagenet-a": _hendrycks(
        "imagenet-a",
        687_552_512,
        "3bb3632277e6ba6392ea64c02ddbf4dd2266c9caffd6bc09c9656d28f012589e",
        7_500,
    ),
    "fashion-mnist": Published(
        "fashion-mnist",
        tuple(download for download, _ in _FASHION_FILES),
        tuple(stored for _, stored in _FASHION_FILES),
    ),
    "airfoil": Published(
        "airfoil",
        (
            Download(
                _AIRFOIL,
                "airfoil_self_noise.dat",
                59_984,
                _sha("74c75fd71783f1e6b71f8a622b993dc592897a97cd689c5090a07147a1b097b3"),
                into="airfoil",
            ),
        ),
        (
            Stored(
                "airfoil/airfoil_self_noise.dat",
                (  # the owners' copy, and the same with the line ends of the released code's copy
                    (59_984, _sha("74c75fd71783f1e6b71f8a622b993dc592897a97cd689c5090a07147a1b097b3")),
                    (58_481, _sha("10ee06e6cfb27dae6b44213d421d217012fb1f9b697592e73a4e4016b52d425f")),
                ),
            ),
        ),
    ),
    "exchange-rate": Published(
        "exchange_rate",
        (
            Download(
                f"{_SERIES}/exchange_rate/exchange_rate.txt.gz",
                "exchange_rate.txt.gz",
                177_142,
                _sha("6a4fbb561dcdee43f071a83badbeec9223a335552278348656738b556f1c2e9d"),
                into="exchange_rate",
            ),
        ),
        (
            Stored(
                "exchange_rate/exchange_rate.txt.gz",
                ((546_336, _sha("0127465b51e3cd3c360f8eb2be30cfd294689a2a55903eb8245aafc396626c7f")),),
                inside_gzip=True,
            ),
        ),
    ),
    "electricity": Published(
        "electricity",
        (
            Download(
                f"{_SERIES}/electricity/electricity.txt.gz",
                "electricity.txt.gz",
                None,
                _sha("3c4c069588198c1fcc95cace7bb69c99922129edfd673b7286661dad20badefa"),
                into="electricity",
            ),
        ),
        (
            Stored(
                "electricity/electricity.txt.gz",
                ((None, _sha("3c4c069588198c1fcc95cace7bb69c99922129edfd673b7286661dad20badefa")),),
            ),
        ),
    ),
}

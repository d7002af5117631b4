"""What is published where: addresses, checksums and files of every data set that is downloaded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Download:
    """One address, with the size and the checksum (``sha256:...`` or ``md5:...``) of the file behind it.

    The file is stored at ``path`` under the data root; with ``unpack`` it is unpacked there and removed.
    """

    url: str
    path: str
    bytes: int | None
    checksum: str
    unpack: bool = False


@dataclass(frozen=True)
class StoredFile:
    """One file that must be under the data root, with the versions that are accepted.

    A version is (bytes, checksum), either of them None where it is not published. With ``inside_gzip`` it
    describes the uncompressed contents, since equal contents may be compressed in different ways.
    """

    path: str
    versions: tuple[tuple[int | None, str | None], ...]
    inside_gzip: bool = False


@dataclass(frozen=True)
class PublishedFiles:
    """All files of one data set: its ``folder`` under the data root, and what must be in it.

    ``counts`` are (pattern, number of files) for data sets of many files. Where a download needs
    registration, ``by_hand`` says what the user must do and ``archives`` are the files that must then exist.
    """

    folder: str
    downloads: tuple[Download, ...] = ()
    files: tuple[StoredFile, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    by_hand: str = ""
    archives: tuple[StoredFile, ...] = ()


def _one_archive(url: str, size: int, checksum: str) -> tuple[Download, ...]:
    return (Download(url, url.rpartition("/")[2], size, f"sha256:{checksum}", unpack=True),)


CIFAR10 = PublishedFiles(
    "cifar-10-batches-bin",
    _one_archive(
        "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        170_052_171,
        "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    ),
    tuple(
        StoredFile(f"cifar-10-batches-bin/{file}", ((30_730_000, f"sha256:{checksum}"),))
        for file, checksum in {
            "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
            "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
            "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
            "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
            "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
            "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
        }.items()
    ),
)

CIFAR100 = PublishedFiles(
    "cifar-100-binary",
    _one_archive(
        "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
        168_513_733,
        "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
    ),
    (
        StoredFile("cifar-100-binary/train.bin", ((153_700_000, None),)),
        StoredFile("cifar-100-binary/test.bin", ((30_740_000, None),)),
    ),
)

TINY_IMAGENET = PublishedFiles(
    "tiny-imagenet-200",
    _one_archive(
        "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
        248_100_043,
        "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",
    ),
    counts=(("train/*/images/*.JPEG", 100_000), ("val/images/*.JPEG", 10_000)),
)

IMAGENET = PublishedFiles(
    "imagenet",
    counts=(("train/*/*.JPEG", 1_281_167), ("val/*/*.JPEG", 50_000)),
    by_hand="register at image-net.org and put ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar and "
    "ILSVRC2012_devkit_t12.tar.gz into the folder",
    archives=(
        StoredFile(
            "imagenet/ILSVRC2012_img_train.tar",
            ((147_897_477_120, "md5:1d675b47d978889d74fa0da5fadfb00e"),),
        ),
        StoredFile(
            "imagenet/ILSVRC2012_img_val.tar", ((6_744_924_160, "md5:29b22e2961454d5413ddabcf34fc5622"),)
        ),
        StoredFile(
            "imagenet/ILSVRC2012_devkit_t12.tar.gz", ((None, "md5:fa75699e90414af021442c21a62c3abf"),)
        ),
    ),
)

IMAGENET_R = PublishedFiles(
    "imagenet-r",
    _one_archive(
        "https://people.eecs.berkeley.edu/~hendrycks/imagenet-r.tar",
        2_191_079_936,
        "18c6bf493b39a0d975d48e587437f562caab9c52ae6327dcfa9dd8eb54aa1b52",
    ),
    counts=(("n*/*.*", 30_000),),
)

IMAGENET_A = PublishedFiles(
    "imagenet-a",
    _one_archive(
        "https://people.eecs.berkeley.edu/~hendrycks/imagenet-a.tar",
        687_552_512,
        "3bb3632277e6ba6392ea64c02ddbf4dd2266c9caffd6bc09c9656d28f012589e",
    ),
    counts=(("n*/*.*", 7_500),),
)

#: MD5 of each file of (CIFAR-10-C, CIFAR-100-C)
CIFAR_C_MD5: dict[str, tuple[str, str]] = {
    "brightness": ("0a81ef75e0b523c3383219c330a85d48", "f22d7195aecd6abb541e27fca230c171"),
    "contrast": ("3c8262171c51307f916c30a3308235a8", "322bb385f1d05154ee197ca16535f71e"),
    "defocus_blur": ("7d1322666342a0702b1957e92f6254bc", "d923e3d9c585a27f0956e2f2ad832564"),
    "elastic_transform": ("9421657c6cd452429cf6ce96cc412b5f", "a0792bd6581f6810878be71acedfc65a"),
    "fog": ("7b397314b5670f825465fbcd1f6e9ccd", "4efc7ebd5e82b028bdbe13048e3ea564"),
    "frost": ("31f6ab3bce1d9934abfb0cc13656f141", "3a39c6823bdfaa0bf8b12fe7004b8117"),
    "gaussian_blur": ("c33370155bc9b055fb4a89113d3c559d", "5204ba0d557839772ef5a4196a052c3e"),
    "gaussian_noise": ("ecaf8b9a2399ffeda7680934c33405fd", "ecc4d366eac432bdf25c024086f5e97d"),
    "glass_blur": ("7361fb4019269e02dbf6925f083e8629", "0bf384f38e5ccbf8dd479d9059b913e1"),
    "impulse_noise": ("2090e01c83519ec51427e65116af6b1a", "3b3c210ddfa0b5cb918ff4537a429fef"),
    "jpeg_compression": ("2b9cc4c864e0193bb64db8d7728f8187", "c851b7f1324e1d2ffddeb76920576d11"),
    "motion_blur": ("fffa5f852ff7ad299cfe8a7643f090f4", "732a7e2e54152ff97c742d4c388c5516"),
    "pixelate": ("0f14f7e2db14288304e1de10df16832f", "96c00c60f144539e14cffb02ddbd0640"),
    "saturate": ("1cfae0964219c5102abbb883e538cc56", "c0697e9fdd646916a61e9c312c77bf6b"),
    "shot_noise": ("3a7239bb118894f013d9bf1984be7f11", "b0a1fa6e1e465a747c1b204b1914048a"),
    "snow": ("bb238de8555123da9c282dea23bd6e55", "0237be164583af146b7b144e73b43465"),
    "spatter": ("8a5a3903a7f8f65b59501a6093b4311e", "12ccf41d62564d36e1f6a6ada5022728"),
    "speckle_noise": ("ef00b87611792b00df09c0b0237a1e30", "e3f215b1a0f9fd9fd6f0d1cf94a7ce99"),
    "zoom_blur": ("6ea8e63f1c5cdee1517533840641641b", "0204613400c034a81c4830d5df81cb82"),
    "labels": ("c439b113295ed5254878798ffe28fd54", "bb4026e9ce52996b95f439544568cdb2"),
}

CIFAR10_C = PublishedFiles(
    "CIFAR-10-C",
    _one_archive(
        "https://zenodo.org/record/2535967/files/CIFAR-10-C.tar",
        2_918_471_680,
        "c72763e101c723b7c507b96205f7e938912a5d587376173b825850cf3cb876a7",
    ),
    tuple(
        StoredFile(f"CIFAR-10-C/{file}.npy", ((None, f"md5:{digest}"),))
        for file, (digest, _) in CIFAR_C_MD5.items()
    ),
)

CIFAR100_C = PublishedFiles(
    "CIFAR-100-C",
    _one_archive(
        "https://zenodo.org/record/3555552/files/CIFAR-100-C.tar",
        2_918_473_216,
        "30ee6543a1bfd049fa33834b7c1ada301e7064b7fbe8fc38340eb8b62ced4b33",
    ),
    tuple(
        StoredFile(f"CIFAR-100-C/{file}.npy", ((None, f"md5:{digest}"),))
        for file, (_, digest) in CIFAR_C_MD5.items()
    ),
)


#: (file, its size and SHA-256, size and SHA-256 of its uncompressed contents)
_FASHION_MNIST = (
    (
        "fashion-mnist/train-images-idx3-ubyte.gz",
        (26_421_880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
        (47_040_016, "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"),
    ),
    (
        "fashion-mnist/train-labels-idx1-ubyte.gz",
        (29_515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
        (60_008, "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"),
    ),
    (
        "fashion-mnist/t10k-images-idx3-ubyte.gz",
        (4_422_102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
        (7_840_016, "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"),
    ),
    (
        "fashion-mnist/t10k-labels-idx1-ubyte.gz",
        (5_148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
        (10_008, "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"),
    ),
)

FASHION_MNIST = PublishedFiles(
    "fashion-mnist",
    tuple(
        Download(
            f"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/{path.rpartition('/')[2]}",
            path,
            size,
            f"sha256:{checksum}",
        )
        for path, (size, checksum), _ in _FASHION_MNIST
    ),
    tuple(
        StoredFile(path, ((size, f"sha256:{checksum}"),), inside_gzip=True)
        for path, _, (size, checksum) in _FASHION_MNIST
    ),
)

_AIRFOIL_CHECKSUM = "sha256:74c75fd71783f1e6b71f8a622b993dc592897a97cd689c5090a07147a1b097b3"

AIRFOIL = PublishedFiles(
    "airfoil",
    (
        Download(
            "https://archive.ics.uci.edu/ml/machine-learning-databases/00291/airfoil_self_noise.dat",
            "airfoil/airfoil_self_noise.dat",
            59_984,
            _AIRFOIL_CHECKSUM,
        ),
    ),
    (
        StoredFile(
            "airfoil/airfoil_self_noise.dat",
            (  # the published copy, and the same with the line ends of the copy in the released code
                (59_984, _AIRFOIL_CHECKSUM),
                (58_481, "sha256:10ee06e6cfb27dae6b44213d421d217012fb1f9b697592e73a4e4016b52d425f"),
            ),
        ),
    ),
)

_SERIES = "https://raw.githubusercontent.com/laiguokun/multivariate-time-series-data/master"

EXCHANGE_RATE = PublishedFiles(
    "exchange_rate",
    (
        Download(
            f"{_SERIES}/exchange_rate/exchange_rate.txt.gz",
            "exchange_rate/exchange_rate.txt.gz",
            177_142,
            "sha256:6a4fbb561dcdee43f071a83badbeec9223a335552278348656738b556f1c2e9d",
        ),
    ),
    (
        StoredFile(
            "exchange_rate/exchange_rate.txt.gz",
            ((546_336, "sha256:0127465b51e3cd3c360f8eb2be30cfd294689a2a55903eb8245aafc396626c7f"),),
            inside_gzip=True,
        ),
    ),
)

_ELECTRICITY_CHECKSUM = "sha256:3c4c069588198c1fcc95cace7bb69c99922129edfd673b7286661dad20badefa"

ELECTRICITY = PublishedFiles(
    "electricity",
    (
        Download(
            f"{_SERIES}/electricity/electricity.txt.gz",
            "electricity/electricity.txt.gz",
            None,
            _ELECTRICITY_CHECKSUM,
        ),
    ),
    (StoredFile("electricity/electricity.txt.gz", ((None, _ELECTRICITY_CHECKSUM),)),),
)

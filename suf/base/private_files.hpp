// Folders and files that no other user of this machine can change, checked as sshd's StrictModes does. Each belongs to
// us or to root, and only its owner may write it. The same holds for every folder above it, up to one that is sticky or
// root's. A symbolic link on the way is checked like a file, with the folders above it. An access control list that
// lets others write shows in the mode of the group.
#pragma once
#include <string>

#include "suf/base/file.hpp"

namespace suf {

// Makes the folder with mode 0700 if there is none, and checks it. Throws Cause::kRefused, with path, owner, mode and
// remedy. Throws Cause::kResource if the folder cannot be made or read.
void MakePrivateFolder(const std::string& path);

// Makes a private folder and locks it, as LockDir does.
Fd LockPrivateFolder(const std::string& path);

// Makes and checks a folder inside one that MakePrivateFolder has checked. It may not be a symbolic link.
void MakePrivateFolderIn(const std::string& folder, const std::string& name);

// Checks a file that another program made for us, such as a mounted key. The file and its folder may be links, as in
// Kubernetes. Does nothing if there is no such file.
void CheckPrivateFile(const std::string& path);

// Whether other users can read a file, or the one that a link leads to. If root owns it, its group may read it. False
// if there is none.
bool OthersCanRead(const std::string& path);

}  // namespace suf

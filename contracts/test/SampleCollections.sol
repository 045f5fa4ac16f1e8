// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// OpenZeppelin's ERC-721 token; anyone can mint one.
contract SampleNft is ERC721("Sample NFT", "SNFT") {
    function mint(address to, uint256 id) external {
        _mint(to, id);
    }
}

/// OpenZeppelin's ERC-1155 token; anyone can mint some.
contract SampleItems is ERC1155("") {
    function mintBatch(address to, uint256[] calldata ids, uint256[] calldata amounts) external {
        _mintBatch(to, ids, amounts, "");
    }
}

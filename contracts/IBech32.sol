// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.18;

/// The two encodings of an address: 0x… and bech32. The prefixes of this chain are `coin` (accounts), `coinvaloper`
/// (validators' operators) and `coinvalcons` (validators' consensus keys); all others work too.
///
/// The functions are not marked `view`, as cosmos/evm has them, but they change nothing: a STATICCALL may call them.
interface IBech32 {
    /// Reverts for an empty prefix, and for one that has other characters than printable ASCII or more than 51 of them.
    function hexToBech32(address addr, string memory prefix) external returns (string memory bech32Address);

    /// Reverts with `invalid bech32 address: …` when the text is not bech32 (checksum included) or
    /// does not hold 20 bytes.
    function bech32ToHex(string memory bech32Address) external returns (address addr);
}

IBech32 constant BECH32 = IBech32(0x0000000000000000000000000000000000000400);

// What the tries ask of their host. Each function may throw, which ends the call of the module.

/**
 * Reads a stored node into memory that `reserveNode` returns.
 * @returns its length; 0 when the node does not exist
 */
@external('host', 'readNode')
export declare function readNode(key: usize, length: u32): u32

/** Takes what is in the log, which is written anew from its beginning. */
@external('host', 'takeLog')
export declare function takeLog(): void

/** Throws for a FAILURE_… of the constants; `index` is that of the update in the order in which it was given. */
@external('host', 'fail')
export declare function fail(failure: u32, index: u32): void

/** The namespaces of JSON-RPC that a listener may serve: the part of a method's name before `_`. `rpc` is always there. */
export const NAMESPACES = ['debug', 'eth', 'net', 'testing', 'trace', 'txpool', 'web3'] as const

export type Namespace = (typeof NAMESPACES)[number]

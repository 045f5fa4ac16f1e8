const input = (name, type, indexed) => ({ name, type, ...(indexed === undefined ? {} : { indexed }) })

/** The parts of ERC-20 that are indexed. */
export const ABI = [
  {
    type: 'event',
    name: 'Transfer',
    inputs: [input('from', 'address', true), input('to', 'address', true), input('value', 'uint256', false)],
  },
  {
    type: 'function',
    name: 'transfer',
    stateMutability: 'nonpayable',
    inputs: [input('to', 'address'), input('value', 'uint256')],
    outputs: [{ name: '', type: 'bool' }],
  },
]

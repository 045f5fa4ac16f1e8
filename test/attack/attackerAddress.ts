/** The networks (/16) of one attack. */
const NETWORKS = 32
/** Addresses of the Internet that lead to the attackers' host: 32.0.0.0 to 47.255.255.255. */
export const ATTACKERS_RANGE = '32.0.0.0/4'
const FIRST_OCTET = 32
const OCTET = 256
/** The attack's own clients have the last address of its first network, the others those from the first on. */
const OWN = OCTET * OCTET - 2

/** The IP address of an attack's clients. @param row number of the attack, below 128 */
export function ownAddress(row: number, isLoopback: boolean): string {
  return addressAt(row, 0, OWN, isLoopback)
}

/** Makes the addresses of an attack's sessions, each in the next of its networks. */
export function createAddresses(row: number, isLoopback: boolean): () => string {
  let made = 0
  return () => {
    const index = made++
    return addressAt(row, index % NETWORKS, 1 + Math.floor(index / NETWORKS), isLoopback)
  }
}

function addressAt(row: number, network: number, host: number, isLoopback: boolean): string {
  const number = row * NETWORKS + network
  const [first, second] = [Math.floor(number / OCTET), number % OCTET]
  if (isLoopback) return `127.${1 + first}.${second}.${1 + (host % (OCTET - 2))}`
  return `${FIRST_OCTET + first}.${second}.${Math.floor(host / OCTET)}.${host % OCTET}`
}

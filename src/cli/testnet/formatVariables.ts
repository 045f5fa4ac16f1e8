/** Lines of a `.env` file, which Docker's --env-file reads too: it takes quotes literally, so only odd values have them. */
export function formatVariables(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${/^[\w./:@,+-]*$/.test(value) ? value : `'${value}'`}\n`)
    .join('')
}

// Lists the names that no declaration in src/ may have. A name must be a noun from Reverb, TF-Agents, Gymnasium, Arrow, databases or the platform; the name of
// a function must be a verb. A participle or a private word describes how a value came to be, and readers must find out what the value is.

export const NO_NAMES = new Set(
  "asked breath breach drawn formed given gone handedOn heard held judged knock lent looked lookers mend picker said seen settled shown surveyor taken told vain".split(
    " ",
  ),
);

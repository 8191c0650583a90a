/** The ten games in the mix. */
export const games = ["Pong", "Breakout", "SpaceInvaders", "Seaquest", "MsPacman", "Enduro", "Riverraid", "MontezumaRevenge", "Qbert", "BeamRider"];

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IDiamondCut} from "../interfaces/IDiamondCut.sol";
import {IHedgeProtection} from "../interfaces/IHedgeProtection.sol";

/// @title A cheap generator of a long history, for local chains.
/// @notice Emits thousands of creation logs of positions and returns each position without storing it.
contract Archive {
    uint256 public count;
    bool public upgraded;

    /// @notice After this call the view returns changed positions, as after an upgrade.
    function upgrade() external {
        upgraded = true;
        emit IDiamondCut.DiamondCut(new IDiamondCut.FacetCut[](0), address(0), "");
    }

    function create(uint256 many) external {
        uint256 end = count + many;
        for (uint256 id = count + 1; id <= end; id++) {
            emit IHedgeProtection.PositionCreated(1, id, hedgerOf(id), id * 1e6, id * 27_322, id * 137, id * 27_459);
        }
        count = end;
    }

    function getHedgePosition(uint256 id)
        external
        view
        returns (uint256, uint256, address, uint256, uint256, uint256, uint256, uint8, bool)
    {
        require(id != 0 && id <= count, "Position not found");
        return (id, 1, hedgerOf(id), id * 1e6, id * 27_322, id * 137, 0, 0, upgraded);
    }

    function hedgerOf(uint256 id) public pure returns (address) {
        return address(uint160(uint256(keccak256(abi.encode(id % 1_000)))));
    }
}

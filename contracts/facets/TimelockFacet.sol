// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IDiamondCut} from "../interfaces/IDiamondCut.sol";
import {ITimelock} from "../interfaces/ITimelock.sol";
import {LibDiamond} from "../libraries/LibDiamond.sol";
import {Reasons} from "../libraries/Reasons.sol";

/// @title Cuts wait 48 hours, so that users can leave before the protocol changes.
contract TimelockFacet is IDiamondCut, ITimelock {
    uint256 public constant TIMELOCK_DELAY = 48 hours;
    uint256 public constant MAX_PROPOSAL_AGE = 30 days;
    bytes32 private constant SLOT = keccak256("fx.protection.timelock.storage");

    struct Proposal {
        uint256 eta;
        uint8 status;
        address init;
        bytes cuts;
        bytes data;
    }

    struct Layout {
        bytes32[] ids;
        mapping(bytes32 => Proposal) proposals;
    }

    uint8 private constant PENDING = 0;
    uint8 private constant CANCELLED = 1;
    uint8 private constant EXECUTED = 2;

    function diamondCut(FacetCut[] calldata _diamondCut, address _init, bytes calldata _calldata) external {
        LibDiamond.requireOwner();
        require(_diamondCut.length > 0 || _init != address(0), Reasons.EMPTY_CUT);
        // Checked again when executed: code can vanish in 48 hours.
        LibDiamond.check(_diamondCut, _init);
        Layout storage l = store();
        bytes memory cuts = abi.encode(_diamondCut);
        bytes32 id = keccak256(abi.encode(cuts, _init, _calldata, block.timestamp, block.number, l.ids.length));
        uint256 eta = block.timestamp + TIMELOCK_DELAY;
        l.ids.push(id);
        l.proposals[id] = Proposal(eta, PENDING, _init, cuts, _calldata);
        emit CutProposed(id, eta);
    }

    function executeCut(bytes32 _proposalId) external {
        LibDiamond.requireOwner();
        Proposal storage p = pending(_proposalId);
        require(block.timestamp >= p.eta, Reasons.TIMELOCK_NOT_ELAPSED);
        require(block.timestamp <= p.eta + MAX_PROPOSAL_AGE, Reasons.PROPOSAL_EXPIRED);
        p.status = EXECUTED;
        emit CutExecuted(_proposalId);
        LibDiamond.cut(abi.decode(p.cuts, (FacetCut[])), p.init, p.data);
    }

    function cancelCut(bytes32 _proposalId) external {
        LibDiamond.requireOwner();
        pending(_proposalId).status = CANCELLED;
        emit CutCancelled(_proposalId);
    }

    function getProposal(bytes32 _proposalId)
        external
        view
        returns (uint8 status, uint256 executeAfter, address initAddress, bytes memory initCalldata)
    {
        Proposal storage p = store().proposals[_proposalId];
        return (p.status, p.eta, p.init, p.data);
    }

    function getAllCutIds() external view returns (bytes32[] memory) {
        return store().ids;
    }

    /// @dev Loops over all proposals ever made; only the owner can add proposals.
    function getPendingCutIds() external view returns (bytes32[] memory ids) {
        Layout storage l = store();
        ids = new bytes32[](l.ids.length);
        uint256 count;
        for (uint256 i; i < l.ids.length; i++) {
            if (l.proposals[l.ids[i]].status == PENDING) ids[count++] = l.ids[i];
        }
        assembly {
            mstore(ids, count)
        }
    }

    function getPendingCutInfo(bytes32 _proposalId) external view returns (uint256 eta, bool executed, bool cancelled) {
        Proposal storage p = store().proposals[_proposalId];
        return (p.eta, p.status == EXECUTED, p.status == CANCELLED);
    }

    function pending(bytes32 id) private view returns (Proposal storage p) {
        p = store().proposals[id];
        require(p.eta != 0, Reasons.PROPOSAL_NOT_FOUND);
        require(p.status != EXECUTED, Reasons.ALREADY_EXECUTED);
        require(p.status != CANCELLED, Reasons.ALREADY_CANCELLED);
    }

    function store() private pure returns (Layout storage l) {
        bytes32 slot = SLOT;
        assembly {
            l.slot := slot
        }
    }
}
